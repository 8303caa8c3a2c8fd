"""Object stores of the tests: servers on loopback, and proxies between them and mortice.

servers.py      moto (S3), Azurite (Azure) and SeaweedFS (S3), each in a process of its own
proxy.py        an HTTP proxy that logs requests and makes them fail
gcs.py          GCS over moto: the headers of one become those of the other
uploads.py      tables copied into a bucket
"""
