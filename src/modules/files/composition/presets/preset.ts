import type { ProviderOption, ProviderSpec } from '../city-config.js';

/** One choice of an option: its value and the arguments that make the command line tool take it. */
export type PresetChoice = readonly [value: string, label: string, ...flagArgs: string[]];

/** What a preset says of one option; the first choice is the default unless `fallback` names another one. */
export function select(key: string, label: string, choices: readonly PresetChoice[], fallback = choices[0]![0]): ProviderOption {
  return {
    key,
    label,
    type: 'select',
    default: fallback,
    choices: choices.map(([value, text, ...flagArgs]) => ({ value, label: text, flag_args: flagArgs })),
  };
}

/** Leaves an option to the tool itself: nothing is passed. */
export const TOOL_DECIDES: PresetChoice = ['', 'As the tool decides'];

/** Choices that are all given by one flag, `flag value`, after the one that leaves it to the tool. */
export function byFlag(flag: string, values: readonly (readonly [value: string, label: string])[]): PresetChoice[] {
  return [TOOL_DECIDES, ...values.map(([value, label]): PresetChoice => [value, label, flag, value])];
}

export function permissionMode(choices: readonly PresetChoice[]): ProviderOption {
  return select('permission_mode', 'Permission mode', choices);
}

export function model(...values: readonly (readonly [value: string, label: string])[]): ProviderOption {
  return select('model', 'Model', byFlag('--model', values));
}

export const EFFORTS = [
  ['low', 'Low'],
  ['medium', 'Medium'],
  ['high', 'High'],
  ['xhigh', 'Very high'],
  ['max', 'Maximum'],
] as const;

/**
 * A preset with what follows from its data: `permission_modes` says again, mode by mode, what the choices of
 * `permission_mode` pass, so that the two cannot disagree.
 */
export function preset(spec: ProviderSpec): ProviderSpec {
  const modes = spec.options_schema?.find((option) => option.key === 'permission_mode')?.choices;
  const whole = { prompt_mode: 'arg', instructions_file: 'AGENTS.md', ...spec };
  if (modes === undefined) return whole;
  return { ...whole, permission_modes: Object.fromEntries(modes.map(({ value, flag_args }) => [value, (flag_args ?? []).join(' ')])) };
}
