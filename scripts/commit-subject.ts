const TYPES = ['bench', 'build', 'chore', 'ci', 'docs', 'feat', 'fix', 'perf', 'refactor', 'revert', 'style', 'test'];
const SUBJECT = new RegExp(`^(?<type>${TYPES.join('|')})(\\([a-z0-9-]+(,[a-z0-9-]+)*\\))?: (?<first>[a-z]+)\\b.*[^. ]$`);
const LONGEST = 120;
/** Imperatives that look like something else. */
const IMPERATIVES = /^(bring|embed|exceed|feed|need|proceed|ring|seed|speed|spread|string|swing|wring|bias|canvas|focus)$/;

/** What is wrong with the subject of a commit; undefined when nothing is. */
export function faultOf(subject: string): string | undefined {
  const { type, first = '' } = SUBJECT.exec(subject)?.groups ?? {};
  if (type === undefined) return 'it is not `type(scope): imperative`';
  if (subject.length > LONGEST) return `it is longer than ${LONGEST} characters`;
  if (/(ed|ing|[^s]s)$/.test(first) && !IMPERATIVES.test(first)) return `"${first}" is not the imperative`;
  return undefined;
}
