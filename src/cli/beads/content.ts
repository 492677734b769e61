import type { Command } from 'commander';
import { collect, type CityContext } from '../command.js';
import { defined, instantOf, numberOf, pairsOf, textOf, timeOf } from '../values.js';
import { INDEFINITELY } from './view.js';

/** The flags that making and changing a bead have in common. */
export interface WriteFlags {
  readonly type?: string;
  readonly priority?: string;
  readonly description?: string;
  readonly descriptionFile?: string;
  readonly metadata?: readonly string[];
  readonly assignee?: string;
  /** False for `--no-…`. */
  readonly parent?: string | false;
  readonly defer?: string | false;
  readonly json?: boolean;
}

export const withContent = (command: Command): Command =>
  command
    .option('--type <type>', 'task, bug, feature, chore, epic, decision or any other word')
    .option('--priority <n>', '0 (highest) to 4')
    .option('--description <text>', 'what is to be done')
    .option('--description-file <path>', 'read the description from this file; - is stdin')
    .option('--metadata <key=value>', 'set this metadata; repeatable', collect)
    .option('--parent <id>', 'the bead that it is a part of')
    .option('--assignee <who>', 'the agent or session that has it')
    .option('--defer <when>', 'not ready before 2h, 7d, 2026-03-01, an RFC 3339 time, or `indefinitely`');

/**
 * The instant that `--defer` means. A duration counts from now, so that a repeated call would ask for something else:
 * under an idempotency key it is refused.
 *
 * @throws CliError
 */
export function deferral(text: string, keyed = false): string {
  if (text === 'indefinitely') return INDEFINITELY;
  return keyed ? timeOf('--defer', text) : instantOf('--defer', text, true);
}

/** The members of a body that those flags make. */
export async function contentOf({ flags, io }: CityContext<WriteFlags>): Promise<{
  type?: string;
  priority?: number;
  description?: string;
  metadata?: Record<string, string>;
  assignee?: string;
}> {
  return defined({
    type: flags.type,
    priority: flags.priority === undefined ? undefined : numberOf('--priority', flags.priority),
    description: await textOf('description', flags.description, flags.descriptionFile, io),
    metadata: pairsOf('--metadata', flags.metadata),
    assignee: flags.assignee,
  });
}
