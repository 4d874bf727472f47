import type { CheckResult, Checks } from '@opentill/runtime/health';
import { chainStatusText } from '@opentill/domain/chain-status';
import type { Clock } from '@opentill/runtime/clock';
import type { Driver } from './drive-wallet.ts';

const PASS_STALE_MS = 60_000;

export function checkDrivers(drivers: readonly Driver[], clock: Clock): Checks {
  const startedAt = clock.now().getTime();
  const checkDriver = (driver: Driver): CheckResult => {
    if (!driver.leads()) return { ok: true, detail: 'standby' };
    const stop = driver.stopReason();
    if (stop !== undefined) return { ok: false, detail: chainStatusText(stop) };
    const silentMs = clock.now().getTime() - (driver.passedAt() ?? startedAt);
    return silentMs < PASS_STALE_MS
      ? { ok: true, detail: 'leads' }
      : { ok: false, detail: `no pass for ${Math.round(silentMs / 1_000)} s` };
  };
  return Object.fromEntries(
    drivers.map((driver) => [driver.key.chain, () => Promise.resolve(checkDriver(driver))] as const),
  );
}
