/** What the check finds and what is right all the same. */
export interface Known {
  readonly file: string;
  /** What the check says, from its beginning. */
  readonly fault: string;
  readonly why: string;
}

const nulls = (file: string, columns: readonly string[], why: string): Known[] =>
  columns.map((column) => ({ file, fault: `${column} may be null`, why }));

const PARTITIONS = {
  file: 'src/platform/event-log/partitions.ts',
  why: 'Partitions of the log are named by when they begin, and made from the default partition.',
};
const APPENDED = {
  file: 'src/modules/sessions/transcripts/transcript-log.repository.ts',
  why: 'It has as many arguments as `append_session_logs`, in its order: transcript-log.db-spec.ts writes with it.',
};

export const KNOWN: readonly Known[] = [
  ...nulls(
    'src/modules/integrations/extmsg/outbound/publications.repository.ts',
    ['session_pk', 'conversation', 'body_hash', 'generation', 'root'],
    'What goes out has them: `insert` is the only one to write such rows.',
  ),
  ...nulls('src/modules/work/hooks/offered-work.repository.ts', ['route'], '`bead_is_offered` asks for it.'),
  ...nulls('src/modules/sessions/rigs/rig-provisions.repository.ts', ['prefix', 'defaultBranch'], 'A rig that is made has them.'),
  ...nulls('src/modules/orchestration/runs/limits/limits.repository.ts', ['limit_ms'], 'What is due has a limit.'),
  {
    file: 'src/platform/database/due-poller.ts',
    fault: 'cannot be read: this.#statement',
    why: 'It asks whatever the rooms of a process want to know: harness.e2e-spec.ts has a worker ask it.',
  },
  {
    file: 'src/platform/operations/operations.repository.ts',
    fault: 'cannot be read: write',
    why: "It is a statement of the caller's own: cities.e2e-spec.ts brings cities up with those that there are.",
  },
  {
    file: 'src/entry/backup/loading.ts',
    fault: 'cannot be read: client.escapeIdentifier(name)',
    why: 'The extensions are those that a backup names.',
  },
  {
    file: 'src/entry/backup/restoring.ts',
    fault: 'cannot be read: name',
    why: 'The names are two of our own, out of the catalogue: restoring.db-spec.ts moves one aside.',
  },
  {
    file: 'src/entry/unfinished-restore.ts',
    fault: 'cannot be read: client.escapeLiteral(token)',
    why: 'A comment takes no parameter: unfinished.db-spec.ts marks databases.',
  },
  { file: 'src/entry/schema.ts', fault: 'cannot be read: name', why: 'What a role is set to is listed beside what a connection is.' },
  {
    file: 'src/modules/administration/maintenance/store.repository.ts',
    fault: 'cannot be read: table',
    why: 'Tables come from the catalogue.',
  },
  {
    file: 'src/modules/work/beads/beads.repository.ts',
    fault: 'cannot be read: list',
    why: 'A filter, an order and where the beads are looked for make it: beads.db-spec.ts has the database asked all of them.',
  },
  {
    file: 'src/modules/sessions/session-store/session-store.repository.ts',
    fault: 'cannot be read: column',
    why: 'Which columns are set says the patch, whose members are those of the row.',
  },
  {
    file: 'src/modules/work/work/work.repository.ts',
    fault: 'cannot be read: column',
    why: 'Which columns are set says the patch, whose members are those of the row.',
  },
  { ...PARTITIONS, fault: 'cannot be read: at' },
  { ...PARTITIONS, fault: 'cannot be read: from' },
  { ...PARTITIONS, fault: 'cannot be read: name' },
  { ...APPENDED, fault: 'cannot be read: i' },
  { ...APPENDED, fault: "cannot be read: ['bigint'" },
];
