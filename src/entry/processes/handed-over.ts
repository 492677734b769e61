import type { Worker } from 'node:cluster';

interface Handle {
  close(): void;
}

/**
 * `node:cluster` accepts connections in one process and hands each to the next that is free. What it has handed to a process that ends
 * before it says that it has it, it forgets, open: whoever has connected would wait for ever, and those who lose a process come back in just
 * that moment. They are closed instead, as all others of that process are.
 */
export function closeWithItsProcess({ process }: Worker): void {
  const handed = new Map<number, Handle>();
  const send = process.send.bind(process) as (...args: unknown[]) => boolean;
  process.send = (...args: unknown[]): boolean => {
    const [message, handle] = args as [{ act?: string; seq?: number }, Handle | undefined];
    if (message.act === 'newconn' && message.seq !== undefined && handle !== undefined) handed.set(message.seq, handle);
    return send(...args);
  };
  process.on('internalMessage', ({ ack }: { ack?: number }) => {
    if (ack !== undefined) handed.delete(ack);
  });
  process.once('exit', () => {
    for (const handle of handed.values()) handle.close();
  });
}
