import { describe, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { createDepositAddressPool } from './deposit-address-pool.ts';

function poolWith(options: { fail?: () => boolean; target?: number; waitMs?: number } = {}) {
  let next = 0;
  const errors: unknown[] = [];
  const pool = createDepositAddressPool({
    families: ['EVM'],
    reserveIndexes: (_family, count) => {
      if (options.fail?.() === true) return Promise.reject(new Error('no database'));
      return Promise.resolve(Array.from({ length: count }, () => next++));
    },
    derive: (family, indexes) => Promise.resolve(indexes.map((index) => `${family}-${index}` as Address)),
    observe: { depositAddressesLow: (error) => errors.push(error) },
    target: options.target ?? 100,
    waitMs: options.waitMs ?? 60_000,
  });
  return { pool, errors, reserved: () => next };
}

describe('createDepositAddressPool', () => {
  it('returns every address once, each derived from its index', async () => {
    const { pool } = poolWith();
    pool.start();
    const taken = await Promise.all(Array.from({ length: 1_000 }, () => pool.take('EVM')));
    await pool.stop();
    expect(new Set(taken.map((fresh) => fresh.derivationIndex)).size).toBe(1_000);
    for (const fresh of taken) expect(fresh.address).toBe(`EVM-${fresh.derivationIndex}`);
  });

  it('fills families in turn, despite one that is large or fails', async () => {
    let isDown = true;
    const indexes = { EVM: 0, TRON: 0, SUI: 0 };
    const pool = createDepositAddressPool({
      families: ['SUI', 'EVM', 'TRON'],
      reserveIndexes: (family, count) => {
        if (family === 'SUI' && isDown) return Promise.reject(new Error('no database'));
        return Promise.resolve(Array.from({ length: count }, () => indexes[family]++));
      },
      derive: (family, wanted) => Promise.resolve(wanted.map((index) => `${family}-${index}` as Address)),
      observe: { depositAddressesLow: () => undefined },
      target: 100_000,
      waitMs: 60_000,
    });
    pool.start();
    expect((await pool.take('TRON')).address).toMatch(/^TRON-/);
    expect(indexes.EVM).toBeLessThanOrEqual(256);
    isDown = false;
    expect((await pool.take('EVM')).address).toMatch(/^EVM-/);
    await pool.stop();
  });

  it('reserves no more indices than it needs', async () => {
    const { pool, reserved } = poolWith({ target: 64 });
    pool.start();
    await pool.take('EVM');
    await pool.stop();
    expect(reserved()).toBeLessThanOrEqual(128);
  });

  it('reuses an address that was given back', async () => {
    const { pool } = poolWith();
    pool.start();
    const fresh = await pool.take('EVM');
    pool.giveBack(fresh);
    expect(await pool.take('EVM')).toBe(fresh);
    await pool.stop();
  });

  it('queues orders while no address is ready, for a limited time', async () => {
    let down = true;
    const { pool, errors } = poolWith({ fail: () => down });
    pool.start();
    const waiting = Promise.all([pool.take('EVM'), pool.take('EVM')]);
    down = false;
    const [first, second] = await waiting;
    expect([first.derivationIndex, second.derivationIndex]).toEqual([0, 1]);
    expect(errors.length).toBeGreaterThanOrEqual(1);
    await pool.stop();

    const dead = poolWith({ fail: () => true, waitMs: 20 });
    dead.pool.start();
    await expect(dead.pool.take('EVM')).rejects.toMatchObject({
      code: 'DEPOSIT_ADDRESSES_EXHAUSTED',
      retryable: true,
    });
    await dead.pool.stop();
  });
});
