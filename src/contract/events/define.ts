import { z } from 'zod';
import { contract } from '../registry.js';

/** A known event kind: its payload is validated when it is written and documented under its component name. */
export interface EventDefinition<P extends z.ZodType = z.ZodType> {
  readonly type: string;
  /** Stamped on every stored event; raised when the payload's meaning changes. */
  readonly version: number;
  readonly payload: P;
  /** What has happened, in one sentence. */
  readonly about: string;
}

const definitions = new Map<string, EventDefinition>();

/**
 * Declares a known event kind.
 *
 * @throws Error when the kind is already declared.
 * @example export const CityCreated = defineEvent('city.created', 1, CityLifecyclePayload, 'A city was made.');
 */
export function defineEvent<P extends z.ZodType>(type: string, version: number, payload: P, about: string): EventDefinition<P> {
  if (definitions.has(type)) throw new Error(`event kind declared twice: ${type}`);
  const definition = Object.freeze({ type, version, payload, about });
  definitions.set(type, definition);
  return definition;
}

/** Every declared kind by its type. Complete once `contract/events/all.ts` has been imported. */
export function knownEvents(): ReadonlyMap<string, EventDefinition> {
  return definitions;
}

/** Kinds whose facts are all in the envelope. */
export const NoPayload = contract('NoPayload', z.strictObject({}), 'Nothing: the facts are in the envelope.');
