import { describe, expect, it } from 'vitest';
import { expectTruth } from '@opentill/testkit/truth-run';
import { runTruth, type TruthPlan } from './truth-run.ts';

/** A small one of the runs in truth.full.test.ts. */
const PLAN: TruthPlan = { name: 'two lying sources', seed: 20_262, blocks: 16, reorgs: 4, sources: 2 };

describe('between two lying sources', () => {
  it('every deposit is recorded, none is invented, and a naive scanner does both', async () => {
    const findings = await runTruth(PLAN);
    expectTruth(findings, 15);
    expect(findings.orphanings).toBeGreaterThan(0);
    expect(findings.naive.missed).toBeGreaterThan(0);
    expect(findings.naive.invented).toBeGreaterThan(0);
  }, 600_000);
});
