// HEALTHCHECK of every service image; the images have no curl. Healthy if /readyz, or the path of the argument, answers
// 200.
const [path = '/readyz'] = process.argv.slice(2);
const url = `http://127.0.0.1:${process.env.HEALTH_PORT ?? '3020'}${path}`;
try {
  const response = await fetch(url, { signal: AbortSignal.timeout(8_000) });
  process.stdout.write(await response.text()); // docker inspect shows it
  process.exitCode = response.status === 200 ? 0 : 1;
} catch (error) {
  process.stdout.write(`${url}: ${error.cause?.message ?? error.message}`);
  process.exitCode = 1;
}
