import semver from 'semver';

/** What an import demands of a repository: versions, or one commit. */
export type Constraint = { readonly kind: 'range'; readonly range: semver.Range } | { readonly kind: 'commit'; readonly hex: string };

/** A tag that counts as a version. */
export interface VersionTag {
  /** `X.Y.Z`. */
  readonly version: string;
  readonly commit: string;
  /** The version as it is compared: read once, and not for each comparison. */
  readonly read: semver.SemVer;
}

/** A constraint that is none, or two that cannot both hold. */
export class InvalidConstraint extends Error {
  override readonly name = 'InvalidConstraint';
}

const MAX_LENGTH = 256;
const TAGS = 'refs/tags/';
const COMMIT = /^[0-9a-f]{7,64}$/;
const PART = /^(\^|~|>=|<=|>|<|=)?\s*v?(0|[1-9]\d{0,8})(?:\.(0|[1-9]\d{0,8}))?(?:\.(0|[1-9]\d{0,8}))?$/;
const TAG = /^v(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:\.(0|[1-9]\d{0,8}))?$/;
const CONSTRAINT_FORMS = ['^1.2', '~1.2', '>=1.2', '<=1.2', '>1.2', '<1.2', '1.2.3', 'sha:<commit>'] as const;

/** @throws InvalidConstraint without repeating the text */
export function parseConstraint(text: string): Constraint {
  const given = text.trim();
  if (given.length > MAX_LENGTH) throw new InvalidConstraint(`it is longer than ${MAX_LENGTH} characters`);
  if (given.startsWith('sha:')) {
    const hex = given.slice('sha:'.length).toLowerCase();
    if (!COMMIT.test(hex)) throw new InvalidConstraint('"sha:" is followed by 7 to 64 hexadecimal digits');
    return { kind: 'commit', hex };
  }
  return { kind: 'range', range: new semver.Range(given.split(',').map(comparator).join(' ')) };
}

/** Without the parts that are left out a comparison means the first version of them; `^1` and `~1` mean all of them. */
function comparator(text: string): string {
  const found = PART.exec(text.trim());
  if (found === null) throw new InvalidConstraint(`each part has to be one of ${CONSTRAINT_FORMS.join(', ')}`);
  const [, operator = '=', major, minor, patch] = found;
  if (operator === '^' || operator === '~') return operator + [major, minor, patch].filter((part) => part !== undefined).join('.');
  return `${operator}${major}.${minor ?? 0}.${patch ?? 0}`;
}

/** The version that the name of a tag stands for; undefined for other tags and for pre-releases. */
export function versionOfTag(tag: string): string | undefined {
  const found = TAG.exec(tag);
  return found === null ? undefined : `${found[1]}.${found[2]}.${found[3] ?? 0}`;
}

/** The tags that count as versions, the newest first. @param refs commits by `refs/tags/v1.0` and other names */
export function versionsAmong(refs: ReadonlyMap<string, string>): VersionTag[] {
  const tags: VersionTag[] = [];
  for (const [name, commit] of refs) {
    const version = name.startsWith(TAGS) ? versionOfTag(name.slice(TAGS.length)) : undefined;
    if (version !== undefined) tags.push({ version, commit, read: new semver.SemVer(version) });
  }
  return tags.sort((a, b) => b.read.compare(a.read));
}

/** Whether a pin is what all constraints allow. */
export function allow(
  constraints: readonly Constraint[],
  { version, commit }: { readonly version?: string | undefined; readonly commit: string },
): boolean {
  if (!constraints.every((constraint) => constraint.kind === 'range' || commit.startsWith(constraint.hex))) return false;
  if (!constraints.some(({ kind }) => kind === 'range')) return true;
  // A file that people write has said it.
  const read = semver.parse(version);
  return read !== null && endsOf(constraints).every((end) => end.test(read));
}

/** The highest version that all constraints allow; undefined when there is none. `constraints` name no commit. @param tags the newest first */
export function highest(tags: readonly VersionTag[], constraints: readonly Constraint[]): VersionTag | undefined {
  const ends = endsOf(constraints);
  return tags.find(({ read }) => ends.every((end) => end.test(read)));
}

/**
 * The highest of the lower ends of all ranges, and the lowest of the upper ones: what is between them is what all of them allow. To ask each of
 * thousands of ranges about each of thousands of tags takes seconds.
 */
function endsOf(constraints: readonly Constraint[]): semver.Comparator[] {
  let lower: semver.Comparator | undefined;
  let upper: semver.Comparator | undefined;
  // A range is one set of comparators: nothing that a constraint may say means "or".
  for (const end of constraints.flatMap((constraint) => (constraint.kind === 'range' ? constraint.range.set[0]! : []))) {
    if (!(end.semver instanceof semver.SemVer)) continue;
    const { operator } = end;
    if (!operator.startsWith('<') && isFurther(end, lower, 1)) lower = end;
    if (!operator.startsWith('>') && isFurther(end, upper, -1)) upper = end;
  }
  return [lower, upper].filter((end) => end !== undefined);
}

/** Whether an end leaves less than another one in a direction: of two at one version the one without that version does. */
function isFurther(end: semver.Comparator, other: semver.Comparator | undefined, direction: 1 | -1): boolean {
  const order = other === undefined ? direction : end.semver.compare(other.semver);
  return order === direction || (order === 0 && (end.operator === '<' || end.operator === '>'));
}

/** The one commit that constraints pin, in as many digits as one of them gives. @throws InvalidConstraint when they pin two. */
export function pinnedCommit(constraints: readonly Constraint[]): string | undefined {
  let pinned: string | undefined;
  for (const constraint of constraints) {
    if (constraint.kind !== 'commit') continue;
    const { hex } = constraint;
    if (pinned !== undefined && !hex.startsWith(pinned) && !pinned.startsWith(hex))
      throw new InvalidConstraint('two imports pin two commits');
    if (pinned === undefined || hex.length > pinned.length) pinned = hex;
  }
  return pinned;
}

/** What an import without a version gets: the newest minor and what is compatible, else the commit at hand. @param tags the newest first */
export function defaultConstraint([newest]: readonly VersionTag[], head: string): string {
  return newest === undefined ? `sha:${head}` : `^${newest.read.major}.${newest.read.minor}`;
}
