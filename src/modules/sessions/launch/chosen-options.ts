import type { Template } from './launch.js';
import { allows } from './template.js';

/** The options that a session starts with: the defaults, and over them what was chosen for it and is still offered. */
export function chosenOptions(
  { optionSchema, optionDefaults }: Template,
  chosen: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const options: Record<string, string> = { ...optionDefaults };
  for (const option of optionSchema) {
    const value = Object.hasOwn(chosen, option.key) ? chosen[option.key] : undefined;
    if (value !== undefined && allows(option, value)) options[option.key] = value;
  }
  return options;
}

/** The arguments that make the program take them, in the order of the schema. */
export function flagArguments({ optionSchema }: Template, options: Readonly<Record<string, string>>): string[] {
  return optionSchema.flatMap(({ key, choices }) => choices?.find(({ value }) => value === options[key])?.flag_args ?? []);
}
