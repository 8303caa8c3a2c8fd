"""Object stores of the tests: servers on loopback, and proxies between them and mortice.

servers.py      moto (S3), Azurite (Azure) and SeaweedFS (S3), each in a process of its own
azure.py        tables copied into a container of Azurite
hdfs.py         a NameNode and a DataNode of Hadoop's minicluster; java/ has what starts it
file_store.py   operations of file stores, in a process of their own
proxy.py        an HTTP proxy that logs requests and makes them fail
gcs.py          GCS over moto: the headers of one become those of the other
uploads.py      tables copied into a bucket
"""
