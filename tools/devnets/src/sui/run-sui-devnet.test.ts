import { expect, test } from 'vitest';
import { readSuiDevnetArguments } from './run-sui-devnet.ts';

test('reads every option of opentill devnet sui', () => {
  expect(readSuiDevnetArguments([])).toEqual({ port: 9180, checkpointMs: 250, consensusMs: 100 });
  const all = [
    '--port=0',
    '--host=::1',
    '--checkpoint-ms=0',
    '--consensus-ms=5',
    '--seed=x',
    '--state=chain.state',
  ];
  expect(readSuiDevnetArguments(all)).toEqual({
    port: 0,
    host: '::1',
    checkpointMs: 0,
    consensusMs: 5,
    seed: 'x',
    stateFile: 'chain.state',
  });
});

test.each([[['--port', 'x']], [['--speed']], [['--help']], [['tron']]])(
  'explains the usage for invalid arguments: %j',
  (args) => {
    expect(readSuiDevnetArguments(args)).toContain('Usage: opentill devnet sui');
  },
);
