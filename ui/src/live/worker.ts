import { newKey } from '../lib/wishes.js';
import { browser } from './around.js';
import type { Down, Up } from './messages.js';
import { Streams, type Listener } from './streams.js';

/** The shared worker: all pages of this browser have their streams here. */
const streams = new Streams(browser);

// It lives in the process of one of the pages, and dies with it: that it is gone nobody else tells the others.
const lock = `svc-worker-${newKey()}`;
const held = new Promise<void>((resolve) => {
  void navigator.locks.request(lock, () => {
    resolve();
    return new Promise(() => undefined);
  });
});

(globalThis as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = (event) => {
  const port = event.ports[0]!;
  const listener: Listener = { tell: (message) => port.postMessage(message) };
  port.onmessage = ({ data }: MessageEvent<Up>) => {
    if (data.t !== 'hello') return streams.handle(listener, data);
    streams.add(listener);
    void held.then(() => port.postMessage({ t: 'worker', lock } satisfies Down));
    // A page holds its lock for as long as it lives: that it is gone nobody else tells.
    void navigator.locks.request(data.lock, () => streams.remove(listener));
  };
};
