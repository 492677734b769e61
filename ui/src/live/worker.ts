import { browser } from './around.js';
import type { Up } from './messages.js';
import { Streams, type Listener } from './streams.js';

/** The shared worker: all pages of this browser have their streams here. */
const streams = new Streams(browser);

(globalThis as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = (event) => {
  const port = event.ports[0]!;
  const listener: Listener = { tell: (message) => port.postMessage(message) };
  port.onmessage = ({ data }: MessageEvent<Up>) => {
    if (data.t !== 'hello') return streams.handle(listener, data);
    streams.add(listener);
    // A page holds its lock for as long as it lives: that it is gone nobody else tells.
    void navigator.locks.request(data.lock, () => streams.remove(listener));
  };
};
