/** So many of a kind, as somebody would say it: `1 patch`, `2 patches`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count.toLocaleString()} ${count === 1 ? one : many}`;
