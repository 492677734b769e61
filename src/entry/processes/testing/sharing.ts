import cluster from 'node:cluster';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { closeWithItsProcess } from '../handed-over.js';

/** A process with one that takes connections for it; says on its channel where, which process that is, and that it has handed a connection over. */
if (cluster.isPrimary) {
  // It has others than the one that ends, where this matters: what it holds stays open.
  process.channel!.ref();
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({ exec: fileURLToPath(import.meta.url) });
  const worker = cluster.fork();
  worker.on('error', () => undefined);
  closeWithItsProcess(worker);
  const send = worker.process.send.bind(worker.process) as (...args: unknown[]) => boolean;
  worker.process.send = (...args: unknown[]): boolean => {
    const sent = send(...args);
    if ((args[0] as { act?: string }).act === 'newconn') process.send!({ handed: true });
    return sent;
  };
  worker.on('message', (port: number) => process.send!({ port, pid: worker.process.pid }));
} else {
  const server = createServer((socket) => socket.end('answered'));
  server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port));
}
