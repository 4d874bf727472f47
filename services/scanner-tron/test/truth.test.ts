import { describe, expect, it } from 'vitest';
import { expectTruth } from '@opentill/testkit/truth-run';
import { runTruth, type TruthPlan } from './truth-run.ts';

const PLAN: TruthPlan = { name: 'two Byzantine sources', seed: 20_262, blocks: 12, reorgs: 3, sources: 2 };

describe('two Byzantine sources', () => {
  it('records every deposit and invents none, unlike a naive scanner', async () => {
    const findings = await runTruth(PLAN);
    expectTruth(findings, 10);
    expect(findings.orphanings).toBeGreaterThan(0);
    expect(findings.naive.missed).toBeGreaterThan(0);
    expect(findings.naive.invented).toBeGreaterThan(0);
  }, 600_000);
});
