/** What is wrong with the statements of `planted.ts`, in their order. */
export const PLANTED: readonly string[] = [
  'PostgreSQL says: column "nam" does not exist',
  'it has no column path',
  'name is text, a string here, and is said to be number',
  'provider may be null',
  'created_at is timestamptz, a date here, and is said to be string',
  'seqs is _int8, a list of string here, and is said to be number[]',
  '$1 is _text and is given number',
  'may concern more than one city',
  '$1 is jsonb and is given readonly string[]',
  '$1 is bool and is given "yes"',
  'PostgreSQL says: column "runing" does not exist',
  'PostgreSQL says: missing FROM-clause entry for table "d"',
  'PostgreSQL says: relation "towns" does not exist',
  'may concern more than one city',
];
