/**
 * The environment of an agent, from nothing: what of the worker's own may pass (`AppConfig.agentEnvironment`), then each
 * layer over the one before it; `undefined` and '' of a layer are told apart, '' is a value.
 */
export function agentEnvironment(
  passed: Readonly<Record<string, string>>,
  ...layers: readonly Readonly<Record<string, string | undefined>>[]
): Record<string, string> {
  const env: Record<string, string> = { ...passed };
  for (const layer of layers) {
    for (const [name, value] of Object.entries(layer)) {
      if (value === undefined) delete env[name];
      else env[name] = value;
    }
  }
  // An agent that finds these takes itself for a part of another one and behaves differently.
  for (const name of NESTING) delete env[name];
  return env;
}

export const NESTING = ['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT', 'CODEX_THREAD_ID', 'CODEX_CI'] as const;
