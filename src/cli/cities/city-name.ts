import type { Context } from '../command.js';
import { CliError } from '../errors.js';

/** The name typed, or the city of the scope. */
export async function cityName(given: string | undefined, context: Context): Promise<string> {
  const name = given ?? (await context.scope()).city;
  if (name === undefined || name.trim() === '') throw new CliError('which city? name it, or set SVC_CITY');
  return name;
}
