import { expect, test } from 'vitest';
import { readDevnetArguments } from './run-tron-devnet.ts';

test('reads every option of opentill devnet tron', () => {
  expect(readDevnetArguments(['tron'])).toEqual({ port: 9090, blockTimeMs: 3000 });
  const all = [
    'tron',
    '--port',
    '0',
    '--host',
    '::1',
    '--block-time-ms',
    '0',
    '--solid-lag',
    '3',
    '--seed',
    'x',
    '--state',
    'chain.state',
  ];
  expect(readDevnetArguments(all)).toEqual({
    port: 0,
    host: '::1',
    blockTimeMs: 0,
    solidLagBlocks: 3,
    seed: 'x',
    stateFile: 'chain.state',
  });
});

test.each([[[]], [['sui']], [['tron', '--port', 'x']], [['tron', '--speed']], [['tron', '--help']]])(
  'explains the usage for invalid arguments: %j',
  (args) => {
    expect(readDevnetArguments(args)).toContain('Usage: opentill devnet tron');
  },
);
