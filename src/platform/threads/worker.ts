/** What runs in a thread: one task at a time. It has no environment, no input and no database; files it asks its process for. */
import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import type { Call, FromThread, ToThread } from './protocol.js';
import type { Task } from './task.js';

const MIB = 1024 * 1024;
const port = parentPort!;
const send = (message: FromThread): void => port.postMessage(message);

const asked = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
let calls: Call[] = [];
let lastId = 0;

/** What is asked for in one turn of the loop goes in one message: a message costs more than what is in it. */
function ask(name: string, ...args: readonly unknown[]): Promise<unknown> {
  const id = ++lastId;
  if (calls.push({ id, name, args }) === 1)
    setImmediate(() => {
      send({ kind: 'calls', calls });
      calls = [];
    });
  return new Promise((resolve, reject) => asked.set(id, { resolve, reject }));
}

port.on('message', (message: ToThread) => {
  if (message.kind === 'answers')
    for (const { id, value, failed } of message.answers) {
      const waiting = asked.get(id);
      asked.delete(id);
      if (failed === true) waiting?.reject(new Error('what was asked for failed'));
      else waiting?.resolve(value);
    }
  else
    void run(message).then(
      (value) => send({ kind: 'done', value, heapMiB: getHeapStatistics().total_heap_size / MIB }),
      (error: unknown) => {
        const { message: text, stack } = error instanceof Error ? error : new Error(String(error));
        send({ kind: 'failed', message: text, stack });
      },
    );
});

async function run({ module, name, input }: Extract<ToThread, { kind: 'job' }>): Promise<unknown> {
  const found = (await import(module)) as Record<string, Task<unknown, unknown>>;
  send({ kind: 'begun' });
  return found[name]!.work(input, ask);
}
