/** The names that a text may stand for in a rig and an import, the nearest first. */
function places(text: string, dir: string, binding: string): string[] {
  const bound = binding === '' ? text : `${binding}.${text}`;
  return dir === '' ? [bound, text] : [`${dir}/${bound}`, `${dir}/${text}`, bound, text];
}

/** The qualified name of the agent that a text means where it stands; undefined when there is none. */
export function agentMeant(names: ReadonlySet<string>, text: unknown, dir: string, binding = ''): string | undefined {
  return typeof text === 'string' ? places(text, dir, binding).find((name) => names.has(name)) : undefined;
}
