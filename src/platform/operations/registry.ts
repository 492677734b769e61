import { Injectable } from '@nestjs/common';
import type { z } from 'zod';
import { knownOperations, type OperationHandler } from './operation.js';

/** The kinds that a worker must have handlers for: all that were declared in this process. */
@Injectable()
export class DeclaredKinds {
  kinds(): Iterable<string> {
    return knownOperations().keys();
  }
}

/**
 * The handlers of a worker process. Families register theirs in `onModuleInit`; the start fails on a second
 * handler for a kind and on a declared kind without one, so no operation can be accepted that nobody will end.
 */
@Injectable()
export class OperationRegistry {
  readonly #handlers = new Map<string, OperationHandler>();

  constructor(private readonly declared: DeclaredKinds) {}

  /** @throws Error when the kind already has a handler. */
  register<I extends z.ZodType>(handler: OperationHandler<I>): void {
    const { kind } = handler.definition;
    if (this.#handlers.has(kind)) throw new Error(`operation has two handlers: ${kind}`);
    this.#handlers.set(kind, handler as unknown as OperationHandler);
  }

  /** The kinds that this process can run. */
  get kinds(): readonly string[] {
    return [...this.#handlers.keys()];
  }

  /** How long the work of each kind may take. */
  get deadlines(): Readonly<Record<string, number>> {
    return Object.fromEntries(Array.from(this.#handlers, ([kind, { definition }]) => [kind, definition.deadlineMs]));
  }

  find(kind: string): OperationHandler | undefined {
    return this.#handlers.get(kind);
  }

  /** @throws Error naming every declared kind without a handler. */
  requireComplete(): void {
    const missing = [...this.declared.kinds()].filter((kind) => !this.#handlers.has(kind)).sort();
    if (missing.length > 0) throw new Error(`operations without a handler: ${missing.join(', ')}`);
  }
}
