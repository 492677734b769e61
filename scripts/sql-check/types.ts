import pg from 'pg';
import ts from 'typescript';
import { createPool } from '../../src/platform/database/database.js';

/** What a value of the database is in JavaScript. */
export type Kind = 'number' | 'string' | 'boolean' | 'date' | 'bytes' | 'json' | 'other' | { readonly list: Kind };

export interface PgType {
  readonly oid: number;
  readonly name: string;
  /** Of a list, its items. */
  readonly element: number;
}

/** Texts as PostgreSQL sends them, by type: what the parser of the product makes of them is the type's kind. */
const SAMPLES: Readonly<Record<string, string>> = {
  bool: 't',
  bytea: '\\x00',
  date: '2026-01-01',
  timestamp: '2026-01-01 00:00:00',
  timestamptz: '2026-01-01 00:00:00+00',
  interval: '00:00:01',
  json: '{}',
  jsonb: '{}',
  uuid: '00000000-0000-0000-0000-000000000000',
};
const NUMBERS = new Set(['int2', 'int4', 'int8', 'float4', 'float8', 'numeric', 'oid']);

/** The kinds of the types of a database, by their number. */
export function kindsOf(types: readonly PgType[]): Map<number, Kind> {
  const { options } = createPool('postgres://nowhere') as unknown as { options: { types: pg.CustomTypesConfig } };
  const names = new Map(types.map(({ oid, name }) => [oid, name]));
  const sample = (name: string): string => SAMPLES[name] ?? (NUMBERS.has(name) ? '1' : 'x');
  return new Map(
    types.map(({ oid, name, element }) => {
      const text = element === 0 ? sample(name) : `{${sample(names.get(element) ?? '')}}`;
      const parse = options.types.getTypeParser(oid, 'text') as (text: string) => unknown;
      return [oid, kindOf(parse(text))];
    }),
  );
}

function kindOf(value: unknown): Kind {
  if (value instanceof Date) return 'date';
  if (Buffer.isBuffer(value)) return 'bytes';
  if (Array.isArray(value)) return { list: kindOf(value[0]) };
  const type = typeof value;
  if (type === 'number' || type === 'string' || type === 'boolean') return type;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0 ? 'json' : 'other';
}

export const worded = (kind: Kind): string => (typeof kind === 'string' ? kind : `list of ${worded(kind.list)}`);

/** What a value may be beside nothing. */
const partsOf = (type: ts.Type): ts.Type[] =>
  (type.isUnion() ? type.types : [type]).filter((part) => !(part.flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined)));

/** Compares types of TypeScript with those of the database. */
export class Comparison {
  constructor(private readonly checker: ts.TypeChecker) {}

  canBeNull(type: ts.Type): boolean {
    const parts = type.isUnion() ? type.types : [type];
    return parts.some((part) => (part.flags & (ts.TypeFlags.Null | ts.TypeFlags.Any | ts.TypeFlags.Unknown)) !== 0);
  }

  /** Whether a value of this kind is of that type. */
  fits(type: ts.Type, kind: Kind): boolean {
    if (kind === 'json' || kind === 'other') return true;
    return partsOf(type).every((part) => this.#isOf(part, kind));
  }

  #isOf(type: ts.Type, kind: Kind): boolean {
    if (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.TypeParameter)) return true;
    if (typeof kind === 'object') {
      const element = this.checker.getIndexTypeOfType(type, ts.IndexKind.Number);
      return element !== undefined && !(type.flags & ts.TypeFlags.StringLike) && this.fits(element, kind.list);
    }
    if (kind === 'number') return (type.flags & ts.TypeFlags.NumberLike) !== 0;
    if (kind === 'string') return (type.flags & ts.TypeFlags.StringLike) !== 0;
    if (kind === 'boolean') return (type.flags & ts.TypeFlags.BooleanLike) !== 0;
    const name = type.symbol?.name;
    return kind === 'date' ? name === 'Date' : name === 'Buffer' || name === 'Uint8Array';
  }

  /** Whether the driver writes a value of that type so that it is one of this type: a list for JSON would become a list of PostgreSQL. */
  isGivable(type: ts.Type, kind: Kind): boolean {
    return partsOf(type).every((part) => {
      if (part.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.TypeParameter)) return true;
      const isList = !(part.flags & ts.TypeFlags.StringLike) && this.checker.isArrayLikeType(part);
      if (typeof kind === 'object') return isList;
      if (isList) return false;
      if (kind === 'json' || kind === 'other') return true;
      // What is written as text is read as text: numbers and times may come as strings.
      if (part.flags & ts.TypeFlags.StringLike) return kind !== 'bytes' && kind !== 'boolean';
      return this.#isOf(part, kind);
    });
  }
}
