/** A label may be any text; a field has one a line. */
const canSay = (label: string): boolean => label !== '' && label === label.trim() && !/[\r\n]/.test(label);

export const labelLines = (labels: readonly string[] | null | undefined): string => (labels ?? []).filter(canSay).join('\n');

/** Those of the lines, each once; one of before that no line can say stays. */
export const labelsOf = (lines: string, before?: readonly string[] | null): string[] => [
  ...new Set([
    ...(before ?? []).filter((label) => !canSay(label)),
    ...lines
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  ]),
];
