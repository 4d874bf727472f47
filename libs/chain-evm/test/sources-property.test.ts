import { afterAll, beforeAll, expect, it } from 'vitest';
import { GatewayError } from '@opentill/domain/gateway-error';
import fc from 'fast-check';
import type { EvmSource } from '../src/sources.ts';
import { createEvmSources } from '../src/sources.ts';
import type { Script, ScriptedNode } from './scripted-node.ts';
import { answering, callOf, refusing, scriptedNode } from './scripted-node.ts';

const SOURCES_MAX = 4;
/** Behaviours of a node; only the answers of `good` may ever be returned. */
const BEHAVIOURS = {
  good: answering(() => 'right'),
  wrongChain: answering(() => 'wrong', '0x1'),
  down: () => ({ status: 503, body: '' }),
  reset: () => 'reset',
  forbidden: () => ({ status: 401, body: 'no' }),
  limited: () => ({ status: 429, headers: { 'retry-after': '0' }, body: '' }),
  html: () => ({ body: '<html>welcome</html>' }),
  truncated: (calls, isBatch) => ({
    body: JSON.stringify((answering(() => 'wrong')(calls, isBatch) as { body: unknown }).body).slice(0, -3),
  }),
  foreign: (calls) => ({ body: { jsonrpc: '2.0', id: (calls[0]?.id ?? 0) + 1, result: 'wrong' } }),
  noMethod: refusing(-32601, 'the method does not exist'),
  lagging: refusing(-32602, 'block range extends beyond current head block'),
  puzzling: refusing(-32099, 'not today'),
} satisfies Record<string, Script>;
type Behaviour = keyof typeof BEHAVIOURS;

let nodes: ScriptedNode[];
beforeAll(async () => {
  nodes = await Promise.all(Array.from({ length: SOURCES_MAX }, () => scriptedNode()));
});
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.close()));
});

const behaviour = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Behaviour>('good') },
  { weight: 3, arbitrary: fc.constantFrom(...(Object.keys(BEHAVIOURS) as Behaviour[])) },
);
const story = fc.integer({ min: 1, max: SOURCES_MAX }).chain((count) =>
  fc.record({
    first: fc.array(behaviour, { minLength: count, maxLength: count }),
    changes: fc.array(
      fc.record({ place: fc.nat(count - 1), to: behaviour, passMs: fc.nat(40_000), hedge: fc.boolean() }),
      { maxLength: 12 },
    ),
  }),
);

it('every run returns the answer of a good source if there is one', async () => {
  const seen = { answers: 0, failures: 0 };
  await fc.assert(
    fc.asyncProperty(story, async ({ first, changes }) => {
      let now = 0;
      const present = [...first];
      const become = (place: number, to: Behaviour): void => {
        present[place] = to;
        nodes[place]!.script = BEHAVIOURS[to];
        // Another node serves the URL now: connections to the previous one are gone.
        nodes[place]!.dropConnections();
      };
      first.forEach((to, place) => become(place, to));
      const sources = createEvmSources({
        endpoints: first.map((_, place) => ({ url: nodes[place]!.url })),
        chainId: 56,
        maxBlockRange: 100,
        blockTimeMs: 1_000,
        requestTimeoutMs: 20_000,
        nowMs: () => now,
      });
      for (const change of [undefined, ...changes]) {
        if (change !== undefined) {
          become(change.place, change.to);
          now += change.passMs;
        }
        const tried: EvmSource[] = [];
        const outcome: unknown = await sources
          .run(
            async (source, options) => {
              tried.push(source);
              return (await source.batch([callOf('who')], options))[0];
            },
            { hedge: change?.hedge ?? false },
          )
          .catch((error: unknown) => error);
        expect(new Set(tried).size).toBe(tried.length);
        expect(sources.usable().length).toBeGreaterThan(0);
        if (present.includes('good')) {
          seen.answers += 1;
          expect(outcome).toBe('right');
          expect(sources.usable().length).toBeLessThanOrEqual(first.length);
        } else {
          seen.failures += 1;
          expect(outcome).toBeInstanceOf(GatewayError);
          expect(tried).toHaveLength(first.length);
        }
      }
    }),
    { numRuns: 60, seed: 1 },
  );
  expect(seen.answers).toBeGreaterThan(50);
  expect(seen.failures).toBeGreaterThan(5);
}, 600_000);
