/**
 * Whether a statement may concern more than one city: it names a table of cities, and nowhere says of which stream, or of which row by its number. That it says so once is taken
 * for enough, as joins in this schema go by the stream; what a statement means is not understood here.
 */
const BOUND = [
  // stream_id = $1, stream_id in (…), stream_id = any (…)
  /\bstream_id"?\s*(=|in\b)/i,
  // (stream_id, id) = (…), (stream_id, id) in (…)
  /\(\s*(\w+\.)?stream_id\s*,[^()]*\)\s*(=|in\b)/i,
  // = stream_id, of whatever has been found by a stream
  /=\s*(\w+\.)?stream_id\b/i,
  /\busing\s*\(\s*stream_id/i,
  // A row of a city is written with its stream, or with what it hangs from.
  /\binsert\s+into\s+"?\w+"?(\s+as\s+\w+)?\s*\([^)]*\b(stream_id|\w+_pk)\b/i,
  // The one stream of this name.
  /\bevent_streams\b[^;]*\b(id|name)\s*=\s*\$/i,
];

/** Of one row, or of what hangs from it, by a number that is unique in all: of one city, and the statement could say of which. */
const BY_NUMBER = /\b(?:session_pk|conversation_pk|group_pk|service_pk|adapter_pk|pk|operation_id)"?\s*(?:=|in\b)/i;

export class Crossing {
  readonly #names: RegExp;

  constructor(tables: readonly string[]) {
    this.#names = new RegExp(`\\b(?:from|join|into|update|using|table)\\s+(?:only\\s+)?"?(?:${tables.join('|')})\\b`, 'i');
  }

  is(sql: string): boolean {
    return this.#names.test(sql) && !BOUND.some((one) => one.test(sql)) && !BY_NUMBER.test(sql);
  }
}
