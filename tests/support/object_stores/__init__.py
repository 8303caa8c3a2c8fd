"""Object stores for the tests: servers on loopback, and proxies in front of them.

servers.py      moto (S3), Azurite (Azure) and SeaweedFS (S3), each in a separate process
azure.py        tables copied into a container of Azurite
hdfs.py         a NameNode and a DataNode of Hadoop's minicluster; java/ has its launcher
file_store.py   operations of file stores, in a separate process
proxy.py        an HTTP proxy that logs requests and makes them fail
gcs.py          GCS over moto, by conversion of headers
uploads.py      tables copied into a bucket
"""
