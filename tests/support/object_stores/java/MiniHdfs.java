import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * A NameNode and a DataNode on loopback: MiniHdfs PORT FOLDER. Prints "ready", answers each line of its input (a command and
 * its arguments, between tabs) with "done", and ends when its input is closed.
 */
public final class MiniHdfs {
    public static void main(String[] arguments) throws Exception {
        Configuration settings = new Configuration();
        settings.set("hdfs.minidfs.basedir", new File(arguments[1]).getAbsolutePath());
        settings.set("dfs.permissions.enabled", "true");
        // Files of several blocks are to be small.
        settings.set("dfs.blocksize", "1m");
        settings.set("dfs.replication", "1");
        settings.set("fs.permissions.umask-mode", "022");
        MiniDFSCluster cluster =
            new MiniDFSCluster.Builder(settings).nameNodePort(Integer.parseInt(arguments[0])).numDataNodes(1).build();
        cluster.waitActive();
        say("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            run(cluster, line.split("\t"));
            say("done");
        }
        cluster.shutdown(true);
        System.exit(0);
    }

    private static void run(MiniDFSCluster cluster, String[] command) throws Exception {
        FileSystem files = cluster.getFileSystem();
        Path path = command.length > 1 ? new Path(command[1]) : null;
        switch (command[0]) {
            case "copy" -> {
                files.mkdirs(path.getParent());
                files.copyFromLocalFile(new Path("file://" + command[2]), path);
            }
            case "permit" -> files.setPermission(path, new FsPermission(command[2]));
            case "remove" -> files.delete(path, true);
            case "safe-mode" -> cluster.getNameNodeRpc().setSafeMode(
                org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction.valueOf("SAFEMODE_" + command[1]), false);
            case "stop-data" -> cluster.stopDataNode(0);
            case "restart-data" -> cluster.restartDataNodes();
            default -> throw new IllegalArgumentException(command[0]);
        }
    }

    private static void say(String word) {
        System.out.println(word);
        System.out.flush();
    }
}
