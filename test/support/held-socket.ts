import { Writable } from 'node:stream';

/** A socket of which the system takes what it is told to. */
export class HeldSocket extends Writable {
  readonly _handle = { bytesWritten: 0, writeQueueSize: 0 };
  encrypted = false;
  #done = (): void => undefined;

  constructor() {
    super({ decodeStrings: false, highWaterMark: 16 * 1_024 });
  }

  setTimeout(): void {}
  setNoDelay(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this._handle.bytesWritten += chunk.length;
    this._handle.writeQueueSize += chunk.length;
    this.#done = done;
  }

  take(bytes: number): void {
    this._handle.writeQueueSize -= bytes;
    if (this._handle.writeQueueSize === 0) this.#done();
  }
}
