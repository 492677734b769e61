import { parseArgs } from 'node:util';

export const MODES = ['ask', 'allow', 'deny'] as const;
export type Mode = (typeof MODES)[number];
export const MODELS = ['loopback-1', 'loopback-2'] as const;

/** The command line. All but the first two exist for tests of whoever starts an agent. */
export interface Flags {
  readonly mode: Mode;
  readonly model: string;
  /** Answers the first message with an error. */
  readonly failInitialize: boolean;
  /** Says that somebody has to log in. */
  readonly requireAuth: boolean;
  /** Conversations cannot be gone on with. */
  readonly noResume: boolean;
  /** They can, but are repeated. */
  readonly loadOnly: boolean;
  /** Offers modes as older agents do, and no options. */
  readonly modesOnly: boolean;
  /** Milliseconds before it answers the first message. */
  readonly slowStart: number;
}

export function readFlags(args: readonly string[]): Flags {
  const { values } = parseArgs({
    args: [...args],
    strict: false,
    options: {
      'permission-mode': { type: 'string' },
      model: { type: 'string' },
      'fail-initialize': { type: 'boolean' },
      'require-auth': { type: 'boolean' },
      'no-resume': { type: 'boolean' },
      'load-only': { type: 'boolean' },
      'modes-only': { type: 'boolean' },
      'slow-start': { type: 'string' },
    },
  });
  return {
    mode: MODES.find((mode) => mode === values['permission-mode']) ?? 'ask',
    model: MODELS.find((model) => model === values.model) ?? MODELS[0],
    failInitialize: values['fail-initialize'] === true,
    requireAuth: values['require-auth'] === true,
    noResume: values['no-resume'] === true,
    loadOnly: values['load-only'] === true,
    modesOnly: values['modes-only'] === true,
    slowStart: Number(values['slow-start'] ?? 0) || 0,
  };
}
