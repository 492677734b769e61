import { Module } from '@nestjs/common';
import { IdempotencyRepository } from './idempotency.repository.js';
import { Idempotency } from './idempotency.js';

@Module({ providers: [Idempotency, IdempotencyRepository], exports: [Idempotency] })
export class IdempotencyModule {}
