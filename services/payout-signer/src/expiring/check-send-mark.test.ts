import { expect, test } from 'vitest';
import type { ExpiringView } from './store/attempt-store.ts';
import type { ExpiringContext } from './pass-deps.ts';
import type { MarkOfSends } from './send-mark.ts';
import { checkSendMark } from './check-send-mark.ts';

const OVER_MS = 50_000;

async function watch(
  sent: MarkOfSends | undefined,
  { lastUniqueMs, releasedMark }: Pick<ExpiringView, 'lastUniqueMs' | 'releasedMark'>,
  cursor: object | null = { overMs: OVER_MS },
) {
  const halts: number[] = [];
  const context = {
    mark: { read: () => Promise.resolve(sent) },
    store: { haltRestored: (_: unknown, mark: number) => Promise.resolve(halts.push(mark) > 0) },
    observe: { restored: () => undefined },
  } as unknown as ExpiringContext;
  const view = { cursor, lastUniqueMs, releasedMark } as unknown as ExpiringView;
  return { pausedBy: await checkSendMark(context, view), halts };
}

const CONTINUES = { pausedBy: undefined, halts: [] };
const WAITING = { pausedBy: 'CHAIN_AHEAD', halts: [] };
const inTime = { uniqueMs: 7, expiresMs: OVER_MS + 1 };

test('continues when the database knows everything that was sent', async () => {
  expect(await watch(undefined, { lastUniqueMs: null, releasedMark: null })).toEqual(CONTINUES);
  expect(await watch(inTime, { lastUniqueMs: 7, releasedMark: null })).toEqual(CONTINUES);
  expect(await watch(inTime, { lastUniqueMs: 8, releasedMark: 6 })).toEqual(CONTINUES);
});

test('halts for an unknown sent transaction, also above a released mark', async () => {
  const halted = { pausedBy: 'CHAIN_AHEAD', halts: [7] };
  expect(await watch(inTime, { lastUniqueMs: null, releasedMark: null })).toEqual(halted);
  expect(await watch(inTime, { lastUniqueMs: 6, releasedMark: 6 })).toEqual(halted);
});

test('waits after a release until no forgotten transaction can land', async () => {
  for (const lastUniqueMs of [null, 6, 7])
    expect(await watch(inTime, { lastUniqueMs, releasedMark: 7 })).toEqual(WAITING);
  const over = { uniqueMs: 7, expiresMs: OVER_MS };
  for (const lastUniqueMs of [null, 6, 7])
    expect(await watch(over, { lastUniqueMs, releasedMark: 7 })).toEqual(CONTINUES);
});

test('checks the mark before the scanner’s first commit as well', async () => {
  const halted = { pausedBy: 'CHAIN_AHEAD', halts: [7] };
  expect(await watch(inTime, { lastUniqueMs: 6, releasedMark: null }, null)).toEqual(halted);
  expect(await watch(inTime, { lastUniqueMs: 7, releasedMark: 7 }, null)).toEqual(WAITING);
  const behind = { pausedBy: 'CHAIN_BEHIND', halts: [] };
  expect(await watch(undefined, { lastUniqueMs: null, releasedMark: null }, null)).toEqual(behind);
});
