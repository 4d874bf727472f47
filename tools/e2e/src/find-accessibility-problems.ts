import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

interface AxeViolation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Runs axe in the page, bypassing its Content-Security-Policy. Returns one line per problem. */
export async function findAccessibilityProblems(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  try {
    const run = async <Value>(expression: string): Promise<Value> => {
      const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
        expression,
        awaitPromise: true,
        returnByValue: true,
      });
      if (exceptionDetails !== undefined) throw new Error(`axe: ${exceptionDetails.text}`);
      return result.value as Value;
    };
    await run(`${AXE};undefined`);
    const violations = await run<readonly AxeViolation[]>(
      "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
    );
    return violations.flatMap(({ id, help, nodes }) =>
      nodes.map(
        ({ target, failureSummary }) => `${id}: ${help}: ${target.join(' ')}: ${failureSummary ?? ''}`,
      ),
    );
  } finally {
    await session.detach();
  }
}
