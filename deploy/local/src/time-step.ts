/** Reports the time until the work is done. Of failed work only the error is reported. */
export async function timeStep<Result>(
  name: string,
  say: ((line: string) => void) | undefined,
  work: Promise<Result>,
): Promise<Result> {
  const beganAt = performance.now();
  const result = await work;
  say?.(`${name}: ${((performance.now() - beganAt) / 1000).toFixed(1)} s`);
  return result;
}
