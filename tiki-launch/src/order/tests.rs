//! Ordering on the test double, which does everything as late as it may.

use crate::double::{self, Double};
use crate::kernel::{Kernel, RawParam};
use crate::{Call, Device, Stream, Tensor};

struct Bench {
    device: Device,
    double: Double,
    kernel: Kernel,
}

fn setup() -> Bench {
    let (device, double) = double::device();
    let params = [
        RawParam::input::<f32>("x"),
        RawParam::output::<f32>("out"),
        RawParam::value::<f32>("by"),
    ];
    let kernel = Kernel::from_ptx("", "bare", params).load(&device).unwrap();
    Bench {
        device,
        double,
        kernel,
    }
}

impl Bench {
    /// out = x + by on the stream.
    fn add(&self, stream: &Stream, x: &Tensor<f32, 1>, out: &mut Tensor<f32, 1>, by: f32) {
        let mut call = Call::raw(stream, &self.kernel).unwrap();
        call.tensor(0, x)
            .unwrap()
            .tensor_mut(1, out)
            .unwrap()
            .scalar(2, by)
            .unwrap();
        call.grid([x.len() as u64, 1, 1]).unwrap().launch().unwrap();
    }
    fn zeros(&self) -> Tensor<f32, 1> {
        self.device.zeros([2]).unwrap()
    }
    fn streams<const N: usize>(&self) -> [Stream; N] {
        std::array::from_fn(|_| self.device.new_stream().unwrap())
    }
    fn counts(&self) -> (usize, usize) {
        let counts = self.double.counts();
        (counts.records, counts.waits)
    }
}

#[test]
fn a_second_stream_waits_once_for_what_it_reads() {
    let b = setup();
    let [first, second] = b.streams();
    let (x, mut y, mut z) = (b.zeros(), b.zeros(), b.zeros());
    b.add(&first, &x, &mut y, 1.0);
    let before = b.counts();
    b.add(&second, &y, &mut z, 1.0);
    b.add(&second, &y, &mut z, 2.0);
    let after = b.counts();
    // The allocations' event was recorded for the first stream and serves the second as well.
    assert_eq!((after.0 - before.0, after.1 - before.1), (1, 2));
    assert_eq!(z.to_vec().unwrap(), [3.0, 3.0]);
}

#[test]
fn a_write_waits_for_all_readers_and_reads_do_not_wait_for_each_other() {
    let b = setup();
    let [a, c, d, w] = b.streams();
    let mut x = b.device.tensor_from(&[1.0f32, 2.0], [2]).unwrap();
    let (mut p, mut q, mut r) = (b.zeros(), b.zeros(), b.zeros());
    for stream in [&a, &c, &d, &w] {
        b.device.stream().synchronize().unwrap();
        b.add(stream, &x, &mut p, 0.0); // settle allocations
        stream.synchronize().unwrap();
    }
    let before = b.counts();
    b.add(&a, &x, &mut p, 10.0);
    b.add(&c, &x, &mut q, 20.0);
    b.add(&d, &x, &mut r, 30.0);
    let reads = b.counts();
    assert_eq!(
        reads.0 - before.0,
        0,
        "three streams read one buffer without any event"
    );
    let nine = b.device.tensor_from(&[9.0f32, 9.0], [2]).unwrap();
    b.add(&w, &nine, &mut x, 0.0);
    let write = b.counts();
    assert_eq!(write.1 - reads.1, 3, "one wait for each reader");
    w.synchronize().unwrap(); // runs the writer as soon as it may
    assert_eq!(x.to_vec().unwrap(), [9.0, 9.0]);
    assert_eq!(p.to_vec().unwrap(), [11.0, 12.0]);
    assert_eq!(q.to_vec().unwrap(), [21.0, 22.0]);
    assert_eq!(r.to_vec().unwrap(), [31.0, 32.0]);
}

#[test]
fn work_known_to_be_finished_needs_no_event() {
    let b = setup();
    let [first, second] = b.streams();
    let (x, mut y, mut z) = (b.zeros(), b.zeros(), b.zeros());
    b.device.stream().synchronize().unwrap();
    b.add(&first, &x, &mut y, 1.0);
    first.synchronize().unwrap();
    b.add(&second, &y, &mut z, 1.0);
    assert_eq!(b.counts(), (0, 0));
    assert_eq!(z.to_vec().unwrap(), [2.0, 2.0]);
}

#[test]
fn tensors_and_streams_may_go_while_work_is_in_flight() {
    let b = setup();
    let [first, second] = b.streams();
    let mut out = b.zeros();
    {
        let x = b.device.tensor_from(&[1.0f32, 2.0], [2]).unwrap();
        let mut y = b.zeros();
        b.add(&first, &x, &mut y, 1.0);
        b.add(&second, &y, &mut out, 1.0);
        b.add(&first, &x, &mut y, 5.0); // and its buffers are freed behind this
    }
    drop((first, second));
    assert_eq!(
        b.double.counts().frees,
        0,
        "nothing is freed before its work is done"
    );
    assert_eq!(out.to_vec().unwrap(), [3.0, 4.0]);
    b.double.run_all();
    assert_eq!(b.double.counts().frees, 2);
    assert_eq!(b.double.counts().live_streams, 1, "the default stream");
    b.device.new_stream().unwrap(); // sweeps the events of the streams that are gone
    assert_eq!(
        b.double.counts().live_events,
        1,
        "that of the default stream"
    );
}

#[test]
fn a_tensor_last_used_on_a_stream_that_is_gone_is_still_ordered() {
    let b = setup();
    let x = b.device.tensor_from(&[1.0f32, 2.0], [2]).unwrap();
    let (mut y, mut z) = (b.zeros(), b.zeros());
    let [stream] = b.streams();
    b.add(&stream, &x, &mut y, 1.0);
    drop(stream);
    b.add(&b.device.stream(), &y, &mut z, 1.0);
    assert_eq!(z.to_vec().unwrap(), [3.0, 4.0]);
    let [stream] = b.streams();
    b.add(&stream, &x, &mut y, 7.0);
    drop(stream);
    assert_eq!(y.to_vec().unwrap(), [8.0, 9.0]);
}

/// Invariant: numbers are given again once their stream is gone and its work done, and not before. Witness:
/// the numbers themselves.
#[test]
fn numbers_of_streams_that_are_over_are_given_again() {
    let b = setup();
    let x = b.device.tensor_from(&[1.0f32, 2.0], [2]).unwrap();
    let (mut y, mut z) = (b.zeros(), b.zeros());
    for round in 0..100 {
        let [stream] = b.streams();
        assert_eq!(stream.id(), 1, "round {round}");
        b.add(&stream, &x, &mut y, round as f32);
        drop(stream);
        b.double.run_all();
    }
    // Still at work: its number is not free, and what it wrote is waited for.
    let [first] = b.streams();
    b.add(&first, &x, &mut y, 7.0);
    drop(first);
    let [second] = b.streams();
    assert_eq!(second.id(), 2);
    b.add(&second, &y, &mut z, 1.0);
    assert_eq!(z.to_vec().unwrap(), [9.0, 10.0]);
    // The next owner of the number is not taken for the one that wrote.
    drop(second);
    b.double.run_all();
    let [third] = b.streams();
    assert_eq!(third.id(), 2);
    let graph = third.capture(|_| {
        assert_eq!(z.to_vec()?, [9.0, 10.0]);
        Ok(())
    });
    graph.unwrap();
}

/// Invariant: any program on any streams gives what it gives on one stream. Witness: a thousand random
/// programs of launches, copies, transfers, drops and new streams, on a machine that delays everything.
#[test]
fn random_programs_agree_with_one_stream() {
    let mut seed = 7u64;
    let mut draw = |n: usize| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) as usize % n
    };
    for _ in 0..1000 {
        let b = setup();
        let mut streams: Vec<Stream> = b.streams::<3>().into();
        let mut tensors: Vec<Tensor<f32, 1>> = (0..4).map(|_| b.zeros()).collect();
        let mut model = [[0.0f32; 2]; 4];
        for step in 0..30 {
            let (i, j, s) = (draw(4), draw(4), draw(3));
            match draw(10) {
                0 => {
                    streams[s] = b.device.new_stream().unwrap();
                }
                1 => {
                    tensors[i] = b.device.tensor_from(&[step as f32; 2], [2]).unwrap();
                    model[i] = [step as f32; 2];
                }
                2 => {
                    tensors[i].copy_from(&[0.5, step as f32]).unwrap();
                    model[i] = [0.5, step as f32];
                }
                3 => assert_eq!(tensors[i].to_vec().unwrap(), model[i]),
                4 => streams[s].synchronize().unwrap(),
                5 if i != j => {
                    let from = tensors[j].view();
                    tensors[i].copy_from_tensor(&streams[s], &from).unwrap();
                    model[i] = model[j];
                }
                _ if i != j => {
                    let x = tensors[j].view();
                    b.add(&streams[s], &x, &mut tensors[i], step as f32);
                    model[i] = model[j].map(|v| v + step as f32);
                }
                _ => {}
            }
        }
        for (tensor, expected) in tensors.iter().zip(model) {
            assert_eq!(tensor.to_vec().unwrap(), expected);
        }
        drop((tensors, streams));
        b.double.run_all();
        assert_eq!(b.double.counts().live_bytes, 0);
        let Bench {
            device,
            double,
            kernel,
        } = b;
        drop((device, kernel));
        let counts = double.counts();
        assert_eq!(
            (counts.live_streams, counts.live_events, counts.loads),
            (0, 0, counts.unloads)
        );
    }
}
