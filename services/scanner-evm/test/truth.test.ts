import { describe, expect, it } from 'vitest';
import { expectTruth } from '@opentill/testkit/truth-run';
import { runTruth, type TruthPlan } from './truth-run.ts';

const PLAN: TruthPlan = {
  name: 'two Byzantine sources',
  seed: 20_267,
  blocks: 24,
  reorgs: 3,
  sources: 2,
};

describe('two Byzantine sources', () => {
  it('records every deposit and invents none, unlike a naive scanner', async () => {
    const findings = await runTruth(PLAN);
    expectTruth(findings, 75);
    expect(findings.orphanings).toBeGreaterThan(0);
    expect(findings.fates.renumbered).toBeGreaterThan(0);
    expect(findings.fates.failed).toBeGreaterThan(0);
    expect(findings.fates.vanished).toBeGreaterThan(0);
    expect(findings.naive.missed).toBeGreaterThanOrEqual(8);
    expect(findings.naive.invented).toBeGreaterThanOrEqual(1);
  }, 600_000);
});
