/** What says of which city, or of which row by a number that is unique in all, and so of which city: the statement could say that, too. */
const KEY = '(?:stream_id|session_pk|conversation_pk|group_pk|service_pk|adapter_pk|pk|operation_id|message_id)';
/** What a function is given, to the end of the call. */
const CALL = String.raw`\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)`;
/** What may stand in front of a bracket, and is no name of rows. */
const WORDS = 'and|or|on|where|using|in|exists|not|any|all|having|values|select|when|then|else|between|like|limit|filter|over';

/**
 * Whether a statement may concern more than one city: it names a table of cities, and is nowhere given of which stream, or of which row by its number. That it is given
 * that once is taken for enough, as joins in this schema go by the stream. A join alone is not: that two rows are of one city says not of which.
 * Whether what is given is so in all cases (`or`, `not`) is not looked at.
 */
const GIVEN = [
  // stream_id = $1, stream_id = any ($1), stream_id in ($1, …), also for what a subquery only passes on
  String.raw`\b${KEY}"?\s*(?:=|in\b)\s*(?:any\s*)?\(*\s*(?:select\s+)?\$\d`,
  // (stream_id, id) = ($1, …), (stream_id, id) in (select $1, …)
  String.raw`\(\s*(?:\w+\.)?stream_id\s*,[^()]*\)\s*(?:=|in\b)\s*\(+\s*(?:select\s+)?\$\d`,
  // select $1 as stream_id
  String.raw`\$\d+(?:::\w+)?\s+as\s+"?${KEY}\b`,
  // unnest($1, …) as asked (stream_id, …): items of one city each, which are given
  String.raw`\b(?:unnest|jsonb_to_recordset)\s*(?=\([^;)]*\$\d)${CALL}\s*(?:with\s+ordinality\s+)?(?:as\s+)?(?!(?:${WORDS})\b)\w+\s*\([^)]*\b${KEY}\b`,
  // A row of a city is written with its stream, or with what it hangs from.
  String.raw`\binsert\s+into\s+"?\w+"?(?:\s+as\s+\w+)?\s*\([^)]*\b(?:stream_id|\w+_pk)\b[^)]*\)\s*(?:values\s*\(|select\s+(?:distinct\s+)?)[^;]{0,200}?\$\d`,
  // The one stream, or the one city, of this name.
  String.raw`\b(?:event_streams|cities)\s+(?:as\s+)?(\w+)\b[^;]*\b\1\.(?:id|name)\s*=\s*\$`,
  String.raw`\b(?:event_streams|cities)\s+(?:set\b[^;]*?\s)?where\s+(?:id|name)\s*=\s*\$`,
].map((one) => new RegExp(one, 'i'));

export class Crossing {
  readonly #names: RegExp;

  constructor(tables: readonly string[]) {
    this.#names = new RegExp(`\\b(?:from|join|into|update|using|table)\\s+(?:only\\s+)?"?(?:${tables.join('|')})\\b`, 'i');
  }

  is(sql: string): boolean {
    return this.#names.test(sql) && !GIVEN.some((one) => one.test(sql));
  }
}
