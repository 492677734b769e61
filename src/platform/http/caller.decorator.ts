import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../../contract/principal.js';
import { problem } from '../../contract/problems.js';
import { principalOf } from './request.js';

const KEY = /^[\x21-\x7e]{1,255}$/;

/** The caller: `@Caller() caller: Principal`. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): Principal =>
  principalOf(context.switchToHttp().getRequest<FastifyRequest>()),
);

function idempotencyKey(_data: unknown, context: ExecutionContext): string | undefined {
  const given = context.switchToHttp().getRequest<FastifyRequest>().headers['idempotency-key'];
  if (given === undefined || given === '') return undefined;
  if (typeof given === 'string' && KEY.test(given)) return given;
  throw problem('validation_failed', 'validation failed', {
    errors: [{ message: 'must be 1 to 255 visible ASCII characters', location: 'header.Idempotency-Key' }],
  });
}

/** The request's Idempotency-Key, or undefined when absent or empty: `@IdempotencyKey() key: string | undefined`. */
export const IdempotencyKey = createParamDecorator(idempotencyKey);

/** Tells the document whether a handler takes the key: its parameter's factory is this one. */
export const IDEMPOTENCY_KEY_FACTORY: unknown = idempotencyKey;
