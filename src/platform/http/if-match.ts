import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { problem } from '../../contract/problems.js';

/** What a conditional write expects: a revision, `*` for any, or undefined when the client asked for nothing. */
export type Expected = number | '*' | undefined;

/** Whatever compresses an answer, here or on the way, makes its tag weak; the revision in it is what is compared. */
const ENTITY_TAG = /^(?:W\/)?"(\d{1,15})"$/;

/** The entity tag of a revision. */
export function entityTag(revision: number): string {
  return `"${revision}"`;
}

/** The tag of the same state in other bytes. */
export function weakened(tag: string): string {
  return tag.startsWith('W/') ? tag : `W/${tag}`;
}

/** @throws ProblemError 422 for anything but `*` or the quoted revision, an empty one included: who sends that has lost the revision that he means. */
export function parseIfMatch(given: string | undefined): Expected {
  const text = given?.trim();
  if (text === undefined) return undefined;
  if (text === '*') return '*';
  const revision = ENTITY_TAG.exec(text)?.[1];
  if (revision !== undefined) return Number(revision);
  throw problem('validation_failed', 'validation failed', {
    errors: [{ message: 'must be * or a quoted revision such as "3"', location: 'header.If-Match' }],
  });
}

/** True when `If-None-Match` names this revision, weakly or not; what is no entity tag of ours names nothing. */
export function isNamed(given: string | undefined, revision: number): boolean {
  return isTagNamed(given, entityTag(revision));
}

/** The same of any strong tag. */
export function isTagNamed(given: string | undefined, strong: string): boolean {
  if (given === undefined) return false;
  return given.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === strong);
}

function ifMatch(_data: unknown, context: ExecutionContext): Expected {
  return parseIfMatch(context.switchToHttp().getRequest<FastifyRequest>().headers['if-match']);
}

function ifNoneMatch(_data: unknown, context: ExecutionContext): string | undefined {
  return context.switchToHttp().getRequest<FastifyRequest>().headers['if-none-match'];
}

/** The revision that a write expects: `@IfMatch() expected: Expected`. */
export const IfMatch = createParamDecorator(ifMatch);

/** The `If-None-Match` header as it came, for `isNamed`: `@IfNoneMatch() known: string | undefined`. */
export const IfNoneMatch = createParamDecorator(ifNoneMatch);

/** Tell the document which handlers take the headers: their parameters' factories are these. */
export const IF_MATCH_FACTORY: unknown = ifMatch;
export const IF_NONE_MATCH_FACTORY: unknown = ifNoneMatch;
