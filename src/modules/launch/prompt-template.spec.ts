import { describe, expect, it } from '@jest/globals';
import { blocksOf, render } from './prompt-template.js';

const FRAGMENTS = new Map([
  ['rules', 'Small commits of {{.Agent}}.'],
  ['both', '{{template "rules" .}}'],
  ['loop', 'again {{ template "loop" }}'],
]);

describe('a prompt', () => {
  it.each([
    ['Hello {{.Agent}} and {{ .Rig }}.', 'Hello mayor and web.'],
    ['{{/* a note */}}Text', 'Text'],
    ['{{ template "rules" . }} {{template "both" .}}', 'Small commits of mayor. Small commits of mayor.'],
    ['{{define "x"}}inner{{end}}A {{template "x" .}}', 'A inner'],
    [
      '{{.Nothing}} {{if .A}}x{{end}} {{template "nothing" .}} {{ .constructor }}',
      '{{.Nothing}} {{if .A}}x{{end}} {{template "nothing" .}} {{ .constructor }}',
    ],
    ['no {{ braces', 'no {{ braces'],
  ])('%j becomes %j', (text, expected) => {
    expect(render(text, { Agent: 'mayor', Rig: 'web' }, FRAGMENTS)).toBe(expected);
  });

  it('that includes itself ends', () => {
    expect(render('{{template "loop" .}}', {}, FRAGMENTS).match(/again/g)).toHaveLength(8);
  });

  it('takes what is filled in as it is', () => {
    expect(render('{{.Agent}}', { Agent: '$& {{.Rig}}', Rig: 'x' }, FRAGMENTS)).toBe('$& {{.Rig}}');
  });
});

it('blocks have names', () => {
  expect([...blocksOf('{{/* x */}}{{ define "a" }}1{{ end }}\n{{define "b"}}2{{end}}')]).toEqual([
    ['a', '1'],
    ['b', '2'],
  ]);
});
