<?php
// Makes the calls of a file with analytics-php: driver.php SOURCES URL CALLS
[, $sources, $url, $file] = $argv;
spl_autoload_register(function (string $class) use ($sources): void {
    require "$sources/analytics-php/lib/" . str_replace(['Segment\\', '\\'], ['', '/'], $class) . '.php';
});
$errors = [];
Segment\Segment::init('WK', [
    'host' => preg_replace('#^https://#', '', $url),
    'consumer' => 'lib_curl',
    'flush_at' => 5,
    'flush_interval' => 1000,
    'error_handler' => function ($code, $message) use (&$errors): void {
        $errors[] = "$code $message";
    },
]);
foreach (json_decode(file_get_contents($file), true) as $call) {
    $type = $call['type'];
    unset($call['type']);
    // As its documentation has it: seconds since 1970.
    if (isset($call['timestamp'])) {
        $call['timestamp'] = (float) (new DateTime($call['timestamp']))->format('U.u');
    }
    Segment\Segment::$type($call);
}
Segment\Segment::flush();
if ($errors) {
    fwrite(STDERR, 'The client reported errors: ' . implode(', ', $errors) . "\n");
    exit(1);
}
