import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { BatchedResponse } from '../../../../platform/http/batched-response.js';
import { combined } from './headers.js';

/** What an answer begins with. */
export interface AnswerHead {
  readonly status: number;
  readonly message: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * A request without a body and its answer, on a connection that others use before and after it. The answer goes on as it comes, as fast as
 * whoever asked takes it.
 */
export class SharedExchange implements Dispatcher.DispatchHandler {
  /** Settles when the answer has gone, or whoever asked has. Rejects where the service fails. */
  readonly over: Promise<void>;
  #settle!: (error?: Error) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #why: Error | undefined;
  #said = false;
  /** Of the whole answer, where the service has told it. */
  #length: number | undefined;

  /** @param begins says what of the head goes on */
  constructor(
    private readonly response: BatchedResponse,
    private readonly begins: (head: AnswerHead) => void,
  ) {
    this.over = new Promise((resolve, reject) => {
      this.#settle = (error) => (error === undefined ? resolve() : reject(error));
    });
    response.on('close', () => {
      // It has left, or it has all of it.
      if (!response.writableFinished) this.abort(new Error('whoever asked has left'));
      this.#settle();
    });
  }

  /** Nobody waits for it any more. */
  abort(why: Error): void {
    this.#why ??= why;
    this.#controller?.abort(why);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#why !== undefined) controller.abort(this.#why);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders, message = ''): void {
    // What comes before an answer is for the next hop.
    if (status < 200) return;
    const { 'content-length': length } = headers;
    if (length !== undefined) this.#length = Number(length);
    this.begins({ status, message, headers: combined(headers) });
    // A stream may say nothing for long: whoever listens is told that it has begun. Of most answers something has come by then.
    setImmediate(() => {
      if (!this.#said && !this.response.destroyed) this.response.flushHeaders();
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const isWhole = !this.#said && chunk.length === this.#length;
    this.#said = true;
    // With its head in one go.
    if (isWhole) return void this.response.end(chunk);
    if (this.response.writeTogether(chunk)) return;
    controller.pause();
    this.response.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    this.#said = true;
    if (!this.response.writableEnded) this.response.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle(this.#why ?? error);
  }
}
