import type { Command } from 'commander';

const MEMBER = /\bbody\.([a-z_]+)(?:\.\d+)?(?=: )/g;

/** What the API says of members of a body, in the words of the command line: the flag or the argument that sets each. Others keep their name. */
export function inFlags(message: string, { options, registeredArguments: words }: Command): string {
  return message.replaceAll(MEMBER, (member, name: string) => {
    const kebab = name.replaceAll('_', '-');
    // A flag that is given several times is called as one of them.
    const called = [kebab, kebab.replace(/s$/, '')];
    const flag = called.map((one) => `--${one}`).find((one) => options.some(({ long }) => long === one));
    if (flag !== undefined) return flag;
    const word = called.find((one) => words.some((argument) => argument.name() === one));
    return word === undefined ? member : `<${word}>`;
  });
}
