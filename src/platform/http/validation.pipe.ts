import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { z } from 'zod';
import { problem, shortened, type ProblemField } from '../../contract/problems.js';
import { sentenceOf } from './issue-sentence.js';

const LOCATIONS: Readonly<Record<string, string>> = { body: 'body', query: 'query', param: 'path' };
const MAX_ERRORS = 50;
/** Characters of a name in a location: keys of a body may be of any length. */
const MAX_NAME = 200;

/** Nest puts the schema given to @Body, @Query and @Param here. */
type Metadata = ArgumentMetadata & { readonly schema?: unknown };

/** The one validation of bodies, queries and path parameters; every refusal is a 422 that lists the fields. */
export class ContractValidationPipe implements PipeTransform {
  transform(value: unknown, metadata: Metadata): unknown {
    const { schema } = metadata;
    if (!(schema instanceof z.ZodType)) return value;
    const location = LOCATIONS[metadata.type];
    if (location === undefined) return value;
    const root = metadata.data === undefined || metadata.data === '' ? location : `${location}.${metadata.data}`;
    const parsed = schema.safeParse(metadata.type === 'query' ? withoutEmpty(value, schema) : value);
    if (parsed.success) return parsed.data;
    throw invalid(parsed.error, root, value);
  }
}

/** A 422 from zod's issues; `value` is what was validated. */
export function invalid(error: z.ZodError, root: string, value: unknown): Error {
  const errors: ProblemField[] = [];
  for (const issue of error.issues) {
    if (issue.code === 'unrecognized_keys') {
      // There may be as many as a body has room for.
      for (const key of issue.keys.slice(0, MAX_ERRORS - errors.length))
        errors.push(field('unexpected property', root, [...issue.path, key], value));
    } else errors.push(field(sentenceOf(issue, valueAt(value, issue.path)), root, issue.path, value));
    if (errors.length >= MAX_ERRORS) break;
  }
  return problem('validation_failed', 'validation failed', { errors });
}

function field(message: string, root: string, path: readonly PropertyKey[], value: unknown): ProblemField {
  const at = valueAt(value, path);
  const location = [root, ...path.map((part) => String(part).slice(0, MAX_NAME))].join('.');
  return at === undefined ? { message, location } : { message, location, value: shortened(at) };
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at: unknown = value;
  for (const part of path)
    at = typeof at === 'object' && at !== null && Object.hasOwn(at, part) ? (at as Record<PropertyKey, unknown>)[part] : undefined;
  return at;
}

function withoutEmpty(value: unknown, schema: z.ZodType): unknown {
  if (typeof value !== 'object' || value === null || !(schema instanceof z.ZodObject)) return value;
  const given = value as Record<string, unknown>;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(given)) if (given[key] !== '' || !(key in schema.shape)) copy[key] = given[key];
  return copy;
}
