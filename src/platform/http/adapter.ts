import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { JsonText } from './json-text.js';

/**
 * Nest's adapter over the Fastify instance that this room has set up. Error, not-found and body handling are the
 * instance's own, so that a refusal looks the same wherever it was raised; Nest's middleware layer is left out.
 */
export class HttpAdapter extends FastifyAdapter {
  constructor(instance: FastifyInstance) {
    super(instance as never);
  }

  override init(): Promise<void> {
    return Promise.resolve();
  }

  override registerParserMiddleware(): void {
    // The instance already parses JSON, and nothing else.
  }

  override setErrorHandler(): never {
    return undefined as never;
  }

  override setNotFoundHandler(): never {
    return undefined as never;
  }

  override reply(response: FastifyReply, body: unknown, statusCode?: number): FastifyReply {
    if (statusCode !== undefined) void response.code(statusCode);
    if (body instanceof JsonText) return response.header('content-type', 'application/json; charset=utf-8').send(body.text);
    return response.send(body ?? undefined);
  }
}
