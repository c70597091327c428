// The primary process of a cluster, with one worker: the program of Node that its arguments name.
import cluster from "node:cluster";

const [exec, ...args] = process.argv.slice(3);
cluster.setupPrimary({ exec, args });
cluster.fork();
