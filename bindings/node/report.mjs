// The reporter of `npm test`: a line for each file, the failures with their errors, and a closing line with the counts.
import { relative } from 'node:path';
import process from 'node:process';
import { inspect } from 'node:util';

export default async function* report(events) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let file;
  let inFile = 0;
  const lineOfFile = () => (file === undefined ? '' : `${relative(process.cwd(), file)}: ${inFile}\n`);
  for await (const { type, data } of events) {
    if (type === 'test:stdout' || type === 'test:stderr') yield data.message;
    if ((type !== 'test:pass' && type !== 'test:fail') || data.details.type === 'suite') continue;
    if (data.file !== file) {
      yield lineOfFile();
      file = data.file;
      inFile = 0;
    }
    inFile += 1;
    const skipped = data.skip !== undefined || data.todo !== undefined;
    counts[skipped ? 'skipped' : type === 'test:fail' ? 'failed' : 'passed'] += 1;
    if (type === 'test:fail' && !skipped) yield `FAILED ${relative(process.cwd(), data.file ?? '')}:${data.line ?? ''}: ${data.name}\n${inspect(data.details.error)}\n`;
  }
  yield `${lineOfFile()}Node: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`;
}
