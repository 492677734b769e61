import { ID_CHARACTERS, OPTIONS_BYTES, shortName, sizeOf } from '../limits.js';
import type { RuntimeOption } from '../port.js';
import type { ConfigOptions, Modes } from './schemas.js';

/** Agents name what they offer as they like, and say of some of it what it is: these are our keys for it. */
const KEYS: Readonly<Record<string, string>> = { mode: 'permission_mode', model: 'model', thought_level: 'effort' };

/** Our words for permission modes, and what agents call the same. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  unrestricted: ['bypassPermissions', 'yolo', 'allow', 'full-access', 'auto'],
  'auto-edit': ['acceptEdits', 'auto_edit', 'autoEdit'],
  'full-auto': ['dontAsk', 'full_auto', 'auto'],
  suggest: ['default', 'read-only', 'ask'],
};

export type OptionChange =
  | {
      readonly method: 'session/set_config_option';
      readonly params: { readonly configId: string; readonly value: string | boolean; readonly type?: 'boolean' };
    }
  | { readonly method: 'session/set_mode'; readonly params: { readonly modeId: string } };

/** What can be set on a living agent: its options, or the modes that older agents have instead. */
export class LiveOptions {
  #config: ConfigOptions = [];
  #modes: Modes | undefined;

  /** What nobody could choose from is left out. */
  opened(config: ConfigOptions | undefined, modes: Modes | undefined): void {
    if (config !== undefined && sizeOf(config) <= OPTIONS_BYTES) this.#config = config;
    if (modes !== undefined && sizeOf(modes) <= OPTIONS_BYTES) this.#modes = modes;
  }

  modeIs(modeId: string): void {
    if (modeId.length > ID_CHARACTERS) return;
    if (this.#modes !== undefined) this.#modes = { ...this.#modes, currentModeId: modeId };
    this.#config = this.#config.map((option) => (keyOf(option) === 'permission_mode' ? { ...option, currentValue: modeId } : option));
  }

  list(): RuntimeOption[] {
    const options = this.#config.map((option) => ({
      key: keyOf(option),
      label: option.name,
      current: option.currentValue === undefined ? undefined : String(option.currentValue),
      choices: choicesOf(option),
    }));
    if (this.#modes === undefined || options.some(({ key }) => key === 'permission_mode')) return options;
    const choices = this.#modes.availableModes.map(({ id, name }) => ({ value: id, label: name }));
    return [...options, { key: 'permission_mode', label: undefined, current: this.#modes.currentModeId, choices }];
  }

  current(key: string): string | undefined {
    const current = this.list().find((option) => option.key === key)?.current;
    return current === undefined ? undefined : shortName(current);
  }

  /** What has to be asked of the agent; undefined when it does not offer this. */
  change(key: string, value: string): OptionChange | undefined {
    const option = this.#config.find((candidate) => keyOf(candidate) === key || candidate.id === key);
    if (option !== undefined) {
      const chosen = choose(choicesOf(option), value);
      if (chosen === undefined) return undefined;
      const params = option.type === 'boolean' ? { value: chosen === 'true', type: 'boolean' as const } : { value: chosen };
      return { method: 'session/set_config_option', params: { configId: option.id, ...params } };
    }
    if (key !== 'permission_mode' || this.#modes === undefined) return undefined;
    const modeId = choose(
      this.#modes.availableModes.map(({ id }) => ({ value: id })),
      value,
    );
    return modeId === undefined ? undefined : { method: 'session/set_mode', params: { modeId } };
  }
}

type ConfigOption = ConfigOptions[number];

function keyOf({ id, category }: ConfigOption): string {
  return category !== undefined && Object.hasOwn(KEYS, category) ? KEYS[category]! : id;
}

function choicesOf({ type, options = [] }: ConfigOption): { value: string; label?: string | undefined }[] {
  if (type === 'boolean') return [{ value: 'true' }, { value: 'false' }];
  return options
    .flatMap((option) => ('value' in option ? [option] : option.options))
    .map((choice) => ({ value: choice.value as string, label: choice.name as string | undefined }));
}

function choose(choices: readonly { readonly value: string }[], value: string): string | undefined {
  const names = [value, ...(Object.hasOwn(WORDS, value) ? WORDS[value]! : [])];
  return names.find((name) => choices.some((choice) => choice.value === name));
}
