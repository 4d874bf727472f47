import { expect, test } from 'vitest';
import { onNewFinding, type Finding } from './finding-changes.ts';
import { readerError } from './reader-error.ts';

test('reports a finding of a source once, and again when it changes', () => {
  const reported: string[] = [];
  const report = onNewFinding(({ source, kind }: Finding) => reported.push(`${source} ${kind}`));
  const wrong = { source: 'a', kind: 'WRONG', error: readerError('TOKEN_MISMATCH', 'no contract') };
  const down = { source: 'a', kind: 'UNREACHABLE', error: readerError('RPC_UNAVAILABLE', 'down') };
  const lacking = { source: 'a', kind: 'LOGS_MISSING', error: readerError('RPC_METHOD_MISSING', 'no logs') };
  for (const finding of [wrong, wrong, lacking, wrong, down, lacking, wrong]) report(finding);
  expect(reported).toEqual(['a WRONG', 'a LOGS_MISSING', 'a UNREACHABLE', 'a WRONG']);
});
