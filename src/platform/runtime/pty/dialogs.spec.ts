import { describe, expect, it } from '@jest/globals';
import { findDialog, showsInput } from './dialogs.js';
import { familyOf } from './families.js';

const at = (command: string, screen: string, prefix = '❯ '): ReturnType<typeof findDialog> =>
  findDialog(screen.split('\n'), familyOf(command), prefix);

const CLAUDE = `
● I will remove the folder.

──────────────────────────────────────────
 Bash command

   rm -rf build
   Remove the build folder

 Do you want to proceed?
 ❯ 1. Yes
   2. Yes, and don't ask again for rm commands in
      /work
   3. No, and tell Claude what to do differently (esc)
`;
const CODEX = `
  Would you like to run the following command?

  $ npm test

› 1. Yes, proceed (y)
  2. Yes, and don't ask again for this command (p)
  3. No, and tell Codex what to do differently (esc)

  Press enter to confirm or esc to cancel
`;
const GEMINI = `
│ ?  WriteFile Writing to a.txt                 │
│                                               │
│ Apply this change?                            │
│                                               │
│ ● 1. Yes, allow once                          │
│   2. Yes, allow always                        │
│   3. No, suggest changes (esc)                │
╰───────────────────────────────────────────────╯
`;

describe('dialogs', () => {
  it.each([
    ['claude', CLAUDE, 'Bash command\nrm -rf build\nRemove the build folder\nDo you want to proceed?'],
    ['/opt/bin/codex.js', CODEX, 'Would you like to run the following command?\n$ npm test'],
    ['gemini', GEMINI, '?  WriteFile Writing to a.txt\nApply this change?'],
  ])('of %s are known', (command, screen, prompt) => {
    const dialog = at(command, screen)!;
    expect(dialog).toMatchObject({ isKnown: true, prompt });
    expect(dialog.options.map(({ key, kind }) => [key, kind])).toEqual([
      ['1', 'allow_once'],
      ['2', 'allow_always'],
      ['3', 'reject_once'],
    ]);
  });

  it('of one agent are not known of another', () => {
    expect(at('codex', CLAUDE)).toMatchObject({ isKnown: false });
    expect(at('my-own-agent', CLAUDE)).toMatchObject({ isKnown: false });
  });

  it('are the same wherever the caret stands, and others for another matter', () => {
    const moved = CLAUDE.replace(' ❯ 1.', '   1.').replace('   3.', ' ❯ 3.');
    expect(at('claude', moved)!.hash).toBe(at('claude', CLAUDE)!.hash);
    expect(at('claude', CLAUDE.replace('build', 'src'))!.hash).not.toBe(at('claude', CLAUDE)!.hash);
  });

  it.each([
    ['a list in an answer', 'Steps:\n1. Build\n2. Test\n\n❯ '],
    ['a list in an answer of an agent without a prefix', 'Steps:\n1. Build\n2. Test'],
    ['a list whose numbers do not follow', '❯ 1. Yes\n  3. No'],
    ['one choice', '❯ 1. Yes'],
    ['an input line', 'Proceed? (y/n)\n╭──╮\n│ ❯  │\n╰──╯'],
    ['a question in the middle', 'Continue? [y/N] y\ndone'],
    ['nothing', ''],
  ])('are not seen in %s', (_what, screen) => {
    expect(at('claude', screen)).toBeUndefined();
  });

  it.each(['Overwrite the file? (y/n)', 'Continue [Y/n]:', 'Press Enter to continue...', 'Do you agree?\n❯ 1. Agree\n  2. Leave'])(
    'that nobody knows are seen: %s',
    (screen) => {
      expect(at('claude', screen)).toMatchObject({ isKnown: false });
    },
  );
});

describe('the line that waits for input', () => {
  it('is told from a menu and from text', () => {
    expect(showsInput(['│ ❯ Try something │'], '❯ ')).toBe(true);
    expect(showsInput(['❯ 1. Yes', '  2. No'], '❯ ')).toBe(false);
    expect(showsInput(['say ❯ something'], '❯ ')).toBe(false);
    expect(showsInput(['❯'], undefined)).toBe(false);
  });
});
